/** Reads manifests as kubectl would: YAML 1.1, several documents a file, lists unpacked, `-` for standard input. */
import { readFileSync } from 'node:fs';
import { InvalidInput } from '@podloom/api';
import { parseAllDocuments } from 'yaml';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

export function readManifests(file: string): Manifest[] {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new InvalidInput('NO_FILE', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseManifests(text, file === '-' ? 'standard input' : file);
}

export function parseManifests(text: string, where: string): Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document, i) => {
    const place = `${where}, document ${i + 1}`;
    const [problem] = document.errors;
    if (problem) throw new InvalidInput('NOT_YAML', `${place}: ${problem.message}`);
    return unpack(document.toJS(), place);
  });
}

function unpack(value: unknown, place: string): Manifest[] {
  if (value === null || value === undefined) return [];
  const { apiVersion, kind, metadata, items } = Object(value) as Partial<Manifest> & { items?: unknown };
  if (kind === 'List' && Array.isArray(items)) return items.flatMap((item) => unpack(item, place));
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata?.name !== 'string') {
    throw new InvalidInput('NOT_AN_OBJECT', `${place}: apiVersion, kind and metadata.name must be there`);
  }
  return [value as Manifest];
}
