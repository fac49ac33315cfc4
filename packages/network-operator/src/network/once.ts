/** Works something out once for each object. Objects of caches never change; what was worked out goes with them. */
export function once<K extends WeakKey, T>(find: (object: K) => T): (object: K) => T {
  const found = new WeakMap<K, T>();
  return (object) => {
    const known = found.get(object);
    if (known !== undefined) return known;
    const value = find(object);
    found.set(object, value);
    return value;
  };
}
