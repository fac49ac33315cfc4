/** What may stand in the path of a registry's interface. Checked before it gets there, because it may come from anybody. */
import { InvalidImage } from '../errors.ts';

const repositoryPattern = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function checkRepository(name: string): string {
  if (name.length <= 255 && repositoryPattern.test(name)) return name;
  throw new InvalidImage(
    'REPOSITORY',
    `"${name}" cannot be a repository: small letters, digits, and . _ - / between them`,
  );
}

/** A tag, or the digest of a manifest. */
export function checkReference(reference: string): string {
  if (tagPattern.test(reference) || digestPattern.test(reference)) return reference;
  throw new InvalidImage('REFERENCE', `"${reference}" is neither a tag nor a digest`);
}

export function checkDigest(digest: string): string {
  if (digestPattern.test(digest)) return digest;
  throw new InvalidImage('DIGEST', `"${digest}" is not a SHA-256 digest`);
}
