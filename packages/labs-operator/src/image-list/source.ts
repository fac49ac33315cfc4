/** Registries whose images are listed, as a file names them: the file of CrownLabs' operator, as far as it speaks of registries like Docker's. */
import { readFile } from 'node:fs/promises';
import { InvalidInput } from '@podloom/api';
import { parse } from 'yaml';

export interface ImageSource {
  /** Name of the ImageList. */
  readonly list: string;
  readonly url: string;
  /** As people write it before the name of an image. */
  readonly registryName: string;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  /** Certificates in PEM. */
  readonly ca?: string | undefined;
}

export async function readSources(file: string): Promise<ImageSource[]> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new InvalidInput('IMAGE_LIST_FILE', `${file} cannot be read: ${cause.message}`, { cause });
  });
  return parseSources(text, file);
}

export function parseSources(text: string, file: string): ImageSource[] {
  let rows: unknown;
  try {
    rows = parse(text, { version: '1.1', maxAliasCount: 10 });
  } catch (cause) {
    throw new InvalidInput('IMAGE_LIST_FILE', `${file} is no YAML: ${(cause as Error).message}`, { cause });
  }
  if (!Array.isArray(rows)) throw new InvalidInput('IMAGE_LIST_FILE', `${file} must hold a list of registries`);
  const sources = rows.map((row, at) => sourceOf(row, `${file}: [${at}]`));
  const lists = sources.map(({ list }) => list);
  const twice = lists.find((list, at) => lists.indexOf(list) < at);
  if (twice !== undefined)
    throw new InvalidInput('IMAGE_LIST_FILE', `${file}: two registries have the list "${twice}"`);
  return sources;
}

function sourceOf(row: unknown, where: string): ImageSource {
  const fields = typeof row === 'object' && row !== null ? (row as Record<string, unknown>) : {};
  const read = (name: string): string => {
    const value = fields[name] ?? '';
    if (typeof value === 'string') return value;
    throw new InvalidInput('IMAGE_LIST_FILE', `${where}.${name} must be text`);
  };
  const need = (name: string): string => {
    const value = read(name);
    if (value === '') throw new InvalidInput('IMAGE_LIST_FILE', `${where}.${name} is needed`);
    return value;
  };
  const type = read('type');
  if (type !== '' && type !== 'docker') {
    const way = 'name the registry of that server with type docker';
    throw new InvalidInput('IMAGE_LIST_FILE', `${where}.type is "${type}", and only docker is known; ${way}`);
  }
  const username = read('username');
  return {
    list: need('imageListName'),
    url: need('url'),
    registryName: need('registryName'),
    ...(username !== '' && { credentials: { username, password: read('password') } }),
    ...(read('ca') !== '' && { ca: read('ca') }),
  };
}
