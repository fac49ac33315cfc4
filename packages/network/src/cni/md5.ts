/**
 * MD5 (RFC 1321) of text, for names that others have fixed: the podagent's device names are made of it. In browsers as well, where there is none. Not for
 * secrets.
 */
const shifts = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const sines = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32));

/** As 32 hexadecimal digits. */
export function md5(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n, true);
  let state: State = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let offset = 0; offset < padded.length; offset += 64) state = block(state, view, offset);
  const digest = new DataView(new ArrayBuffer(16));
  for (const [i, word] of state.entries()) digest.setUint32(i * 4, word, true);
  return new Uint8Array(digest.buffer).toHex();
}

type State = readonly [number, number, number, number];

function block(state: State, view: DataView, offset: number): State {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i += 1) {
    const round = i >> 4;
    const mixed = [(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)][round] ?? 0;
    const word = [i, 5 * i + 1, 3 * i + 5, 7 * i][round] ?? 0;
    const sum = (a + mixed + (sines[i] ?? 0) + view.getUint32(offset + (word % 16) * 4, true)) | 0;
    const shift = shifts[round]?.[i % 4] ?? 0;
    [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
  }
  return [(state[0] + a) >>> 0, (state[1] + b) >>> 0, (state[2] + c) >>> 0, (state[3] + d) >>> 0];
}
