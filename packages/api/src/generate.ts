/**
 * Writes the CRDs into the chart and beside it, and the reference pages into the documents. `--check` writes nothing, names what differs and
 * exits 1. It is a tool beside the package's door: the only file here that touches the disk or knows YAML.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { customResourceDefinition } from './crd.ts';
import { Bug } from './errors.ts';
import type { Kind } from './kind.ts';
import { kinds, labsKinds } from './kinds.ts';
import { referenceIndex, referencePage } from './reference.ts';

const root = join(import.meta.dirname, '../../..');
const crdFolder = 'deploy/chart/templates/crds';
/** For `kubectl apply -f`, which does not look into folders in it: a kind of another project is installed only where it is missing. */
const plainFolder = 'deploy/crds';
const foreignFolder = `${plainFolder}/foreign`;
const referenceFolder = 'docs/reference/api';

/** When the chart installs a kind. */
const enabled = (kind: Kind): string =>
  labsKinds.includes(kind) ? '(include "podloom.labs" .)' : '.Values.network.enabled';

/** Another project may have installed its CRD before us; Helm would then refuse to install ours. */
function isOurs(name: string): string {
  const found = `(lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "${name}")`;
  const ours = `(eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" ${found}) .Release.Name)`;
  return `(or (not ${found}) ${ours})`;
}

const header = '# Generated from packages/api by `make fix`; do not edit.\n';
const crdYaml = (kind: Kind): string =>
  stringify(customResourceDefinition(kind), { lineWidth: 0, aliasDuplicateObjects: false });
const crdName = ({ plural, group }: Kind): string => `${plural}.${group}`;

/** The condition hides in YAML comments, so that the file is a template for Helm and plain YAML for everybody else. */
function crdTemplate(kind: Kind): string {
  const yaml = crdYaml(kind);
  if (yaml.includes('{{'))
    throw new Bug('CRD_TEMPLATE', `The CRD of ${kind.kind} has "{{", which Helm would read as its own`);
  const condition = kind.foreign ? `and ${enabled(kind)} ${isOurs(crdName(kind))}` : enabled(kind);
  return `${header}# {{- if ${condition} }}\n${yaml}# {{- end }}\n`;
}

const pageOf = (kind: Kind): string => `${kind.kind.toLowerCase()}.md`;

export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...kinds.map((kind) => [`${crdFolder}/${crdName(kind)}.yaml`, crdTemplate(kind)] as const),
    ...kinds.map((kind) => {
      const folder = kind.foreign ? foreignFolder : plainFolder;
      return [`${folder}/${crdName(kind)}.yaml`, header + crdYaml(kind)] as const;
    }),
    ...kinds.map((kind) => [`${referenceFolder}/${pageOf(kind)}`, referencePage(kind)] as const),
    [`${referenceFolder}/README.md`, referenceIndex(kinds, pageOf)] as const,
  ]);
}

function onDisk(): ReadonlyMap<string, string> {
  return new Map(
    [crdFolder, plainFolder, foreignFolder, referenceFolder].flatMap((folder) => {
      mkdirSync(join(root, folder), { recursive: true });
      return readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => [`${folder}/${name}`, readFileSync(join(root, folder, name), 'utf8')] as const);
    }),
  );
}

function main(check: boolean): number {
  const [wanted, present] = [generatedFiles(), onDisk()];
  const differing = [...new Set([...wanted.keys(), ...present.keys()])].filter(
    (path) => wanted.get(path) !== present.get(path),
  );
  if (check) {
    for (const path of differing) process.stderr.write(`${path} is not up to date: run make fix\n`);
    return differing.length > 0 ? 1 : 0;
  }
  for (const path of differing) {
    const content = wanted.get(path);
    if (content === undefined) {
      rmSync(join(root, path));
      continue;
    }
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  process.stdout.write(`${wanted.size} files, ${differing.length} changed\n`);
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.includes('--check'));
