import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CutLine, jsonLines } from './watch-stream.ts';

async function collect(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  async function* source() {
    yield* chunks;
  }
  return Array.fromAsync(jsonLines(source()));
}

function split(bytes: Buffer, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

describe('jsonLines', () => {
  it('gives the same values however the bytes are cut into chunks', async () => {
    const value = fc.record({ type: fc.string(), object: fc.string({ unit: 'grapheme' }) });
    await fc.assert(
      fc.asyncProperty(fc.array(value), fc.array(fc.nat()), fc.boolean(), async (values, cuts, newlineAtEnd) => {
        const text = values.map((each) => JSON.stringify(each)).join('\n') + (newlineAtEnd ? '\n' : '');
        expect(await collect(split(Buffer.from(text), cuts))).toEqual(values);
      }),
    );
  });

  it('puts a character together whose bytes came one by one', async () => {
    const bytes = Buffer.from('"añ→𝄞"\n');
    expect(await collect([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(['añ→𝄞']);
  });

  it('tells a cut line from a finished one, without quoting it', async () => {
    const cut = collect([Buffer.from('{"a":1}\n{"token":"hunter2')]);
    await expect(cut).rejects.toBeInstanceOf(CutLine);
    await expect(cut).rejects.not.toThrow(/hunter2/);
  });
});
