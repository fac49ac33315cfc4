/** Objects to decode into. */

/**
 * An object that has the usual members already. The engine turns an object to which a dozen names were added one by one into a hash
 * table, which is several times slower to make and to read; copying one that has them avoids that. Members that then do not come are
 * undefined, so only those belong here that the kernel always sends.
 */
export function blankOf(names: readonly string[]): Record<string, unknown> {
  const blank = JSON.parse(`{${names.map((name) => `"${name}":0`).join(',')}}`) as Record<string, unknown>;
  for (const name of names) blank[name] = undefined;
  return blank;
}
