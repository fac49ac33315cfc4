/**
 * The little of the ELF format that images need: which libraries a program asks for, and where its loaded part ends. Only
 * little-endian 64-bit files, which is all that Node and Kubernetes run on here. See elf(5).
 */
import { InvalidImage } from '../errors.ts';
import { closeSync, openSync, readSync } from 'node:fs';

export interface Elf {
  /** e_machine: two files go together only if this is equal. */
  readonly machine: number;
  /** The loader; absent in a library and in a static program. */
  readonly interpreter?: string;
  readonly needed: readonly string[];
  /** DT_RUNPATH or the older DT_RPATH, split, as written: `$ORIGIN` is not replaced. */
  readonly runpath: readonly string[];
  /** Bytes up to the end of the last segment: what comes after is for linkers and debuggers only. */
  readonly loadedBytes: number;
}

const headerBytes = 64;
const segmentBytes = 56;
const segmentType = { load: 1, dynamic: 2, interpreter: 3 };
const tag = { needed: 1n, strings: 5n, rpath: 15n, runpath: 29n };

/** Reads headers and the dynamic section, a few kilobytes of a file of any size. */
export function readElf(file: string): Elf {
  const fd = openSync(file, 'r');
  try {
    return parseElf(file, (offset, length) => {
      const bytes = Buffer.alloc(length);
      const got = readSync(fd, bytes, 0, length, offset);
      if (got < length) throw new InvalidImage('ELF', `${file} ends early: it is not a whole ELF file`);
      return bytes;
    });
  } finally {
    closeSync(fd);
  }
}

/** The first bytes of the same file without its section headers, so that it may be cut at `loadedBytes`. */
export function strippedHeader(file: string): Buffer {
  readElf(file);
  const fd = openSync(file, 'r');
  try {
    const header = Buffer.alloc(headerBytes);
    readSync(fd, header, 0, headerBytes, 0);
    header.writeBigUInt64LE(0n, 40); // e_shoff
    header.writeUInt32LE(0, 60); // e_shnum, e_shstrndx
    return header;
  } finally {
    closeSync(fd);
  }
}

function parseElf(file: string, read: (offset: number, length: number) => Buffer): Elf {
  const header = read(0, headerBytes);
  if (header.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') {
    throw new InvalidImage('ELF', `${file} is not a 64-bit little-endian ELF file`);
  }
  const table = read(Number(header.readBigUInt64LE(32)), header.readUInt16LE(56) * segmentBytes);
  const segments = Array.from({ length: header.readUInt16LE(56) }, (_, index) => {
    const at = index * segmentBytes;
    return {
      type: table.readUInt32LE(at),
      offset: Number(table.readBigUInt64LE(at + 8)),
      address: Number(table.readBigUInt64LE(at + 16)),
      bytes: Number(table.readBigUInt64LE(at + 32)),
    };
  });
  const interpreter = segments.find(({ type }) => type === segmentType.interpreter);
  const dynamic = segments.find(({ type }) => type === segmentType.dynamic);
  const entries = dynamic ? dynamicEntries(read(dynamic.offset, dynamic.bytes)) : [];

  const strings = entries.find(([name]) => name === tag.strings)?.[1] ?? 0n;
  const segment = segments.find(
    ({ type, address, bytes }) =>
      type === segmentType.load && Number(strings) >= address && Number(strings) < address + bytes,
  );
  const textAt = (offset: bigint): string => {
    if (!segment) throw new InvalidImage('ELF', `${file} names libraries but has no string table`);
    const start = segment.offset + Number(strings) - segment.address + Number(offset);
    return cString(read(start, Math.min(4096, segment.offset + segment.bytes - start)));
  };
  const texts = (wanted: bigint): string[] =>
    entries.filter(([name]) => name === wanted).map(([, offset]) => textAt(offset));

  const [runpath] = [...texts(tag.runpath), ...texts(tag.rpath)];
  return {
    machine: header.readUInt16LE(18),
    ...(interpreter && { interpreter: cString(read(interpreter.offset, interpreter.bytes)) }),
    needed: texts(tag.needed),
    runpath: runpath?.split(':') ?? [],
    loadedBytes: Math.max(headerBytes, ...segments.map(({ offset, bytes }) => offset + bytes)),
  };
}

function dynamicEntries(section: Buffer): [bigint, bigint][] {
  const entries: [bigint, bigint][] = [];
  for (let at = 0; at + 16 <= section.length; at += 16) {
    const name = section.readBigUInt64LE(at);
    if (name === 0n) break;
    entries.push([name, section.readBigUInt64LE(at + 8)]);
  }
  return entries;
}

function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}
