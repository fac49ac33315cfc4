/**
 * Turns the bytes of a watch into JSON values, one a line. Lines are cut at the byte 0x0a before any decoding, so that a chunk may end
 * inside a character; the pieces of an unfinished line are joined once, when its end arrives, so that a large object in many
 * chunks costs no more than its size.
 */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown, void, undefined> {
  let pieces: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      pieces.push(chunk.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(pieces);
      pieces = [];
      if (line.length > 0) yield parse(line);
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces);
  if (rest.length > 0) yield parse(rest);
}

/** The parser's own message quotes the text, which may be a Secret: it is not kept. */
function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    throw new CutLine(line.length);
  }
}

/** A line that is no JSON: in practice, the connection ended in the middle of it. */
export class CutLine extends Error {
  constructor(bytes: number) {
    super(`the watch was cut within a line, after ${bytes} bytes of it`);
    this.name = 'CutLine';
  }
}
