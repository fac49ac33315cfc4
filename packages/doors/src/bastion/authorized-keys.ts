/**
 * The file that lets people in at the bastion: a line for each public key of each Tenant. Every key is checked, because sshd would read options, and what
 * follows a line break, as if an administrator had written them.
 */
import type { Tenant } from '@podloom/api';

export interface KeyRefusal {
  /** Place in `spec.publicKeys`. */
  readonly index: number;
  /** Goes on after "spec.publicKeys[0] ". */
  readonly reason: string;
}

export interface TenantKeys {
  readonly lines: readonly string[];
  readonly refused: readonly KeyRefusal[];
}

/** The whole file. Sorted, so that the same people with the same keys are the same bytes. */
export function authorizedKeysFile(tenants: readonly Tenant[]): string {
  const lines = tenants.flatMap((tenant) => tenantKeys(tenant).lines);
  return [...new Set(lines)]
    .toSorted()
    .map((line) => `${line}\n`)
    .join('');
}

/** A Tenant that is being deleted has no key any more. The comment of a key gives way to the name, so that sshd's log says who came. */
export function tenantKeys({ metadata, spec }: Tenant): TenantKeys {
  const keys = metadata.deletionTimestamp === undefined ? (spec.publicKeys ?? []) : [];
  const lines: string[] = [];
  const refused: KeyRefusal[] = [];
  for (const [index, text] of keys.entries()) {
    const key = readKey(text);
    if ('reason' in key) refused.push({ index, reason: key.reason });
    else lines.push(`${key.type} ${key.base64} ${metadata.name}`);
  }
  return { lines, refused };
}

const types: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
]);

type ReadKey = { readonly type: string; readonly base64: string } | { readonly reason: string };

function readKey(text: string): ReadKey {
  const line = text.trim();
  if (/[\r\n\0]/.test(line)) return { reason: 'has a line break; write each key as an item of its own' };
  const [type = '', base64 = ''] = line.split(/[ \t]+/);
  if (base64 === '') return { reason: 'needs two words: the type of the key, and the key' };
  if (!types.has(type)) {
    return { reason: `begins with "${type.slice(0, 40)}", which is no type of key that is let in; options are not` };
  }
  return typeInside(base64) === type ? { type, base64 } : { reason: `holds no ${type} key; copy the whole line again` };
}

/** A key names its type inside, too, after the length of the name in four bytes. */
function typeInside(base64: string): string | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < 4) return undefined;
  const end = 4 + bytes.readUInt32BE(0);
  return end < bytes.length ? bytes.toString('latin1', 4, end) : undefined;
}
