/** Every relative link in our documents leads to a file that is there, and to a heading where it names one. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const documents = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => ['node_modules', '.tools', '.tsbuild', 'dist'].includes(name),
});
const problems: string[] = [];
for (const document of documents) {
  const text = withoutCode(readFileSync(join(root, document), 'utf8'));
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (!target || /^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split('#');
    const file = path ? resolve(root, dirname(document), path) : join(root, document);
    if (!existsSync(file)) problems.push(`${document}: ${target} leads nowhere`);
    else if (anchor && statSync(file).isFile() && !headings(file).includes(anchor)) {
      problems.push(`${document}: ${target} names a heading that is not there`);
    }
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function headings(file: string): string[] {
  return [...withoutCode(readFileSync(file, 'utf8')).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));
}
