/**
 * Writes docs/reference/settings.md from where the settings are declared. With --check it writes nothing and fails where the page is
 * not what it would write.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentSettings } from '@podloom/agent';
import { bastionSettings, hostKeySettings, trackerSettings } from '@podloom/doors';
import { imageListSettings, labsOperatorSettings, withoutEffect } from '@podloom/labs-operator';
import type { SettingRow } from '@podloom/kube';
import { networkOperatorSettings, withdrawSettings } from '@podloom/network-operator';
import { format, resolveConfig } from 'prettier';

const file = join(import.meta.dirname, '../docs/reference/settings.md');
const text = [
  '# Settings of the processes',
  'Generated from their declarations. A flag comes before the environment, the environment before the default. The chart sets what a cluster needs.',
  ...section('podloom network-operator', networkOperatorSettings.rows),
  ...section('podloom network-operator withdraw', withdrawSettings.rows),
  ...section('podloom labs-operator', labsOperatorSettings.rows),
  ...ignored(),
  ...section('podloom image-list', imageListSettings.rows),
  ...section('podloom agent', agentSettings.rows),
  ...section('podloom bastion', bastionSettings.rows),
  ...section('podloom bastion host-keys', hostKeySettings.rows),
  ...section('podloom ssh-tracker', trackerSettings.rows),
].join('\n\n');
const formatted = await format(text, { ...(await resolveConfig(file)), filepath: file });

if (!process.argv.includes('--check')) writeFileSync(file, formatted);
else if (!existsSync(file) || readFileSync(file, 'utf8') !== formatted) {
  console.error('docs/reference/settings.md is not what the declarations say; run: make fix');
  process.exitCode = 1;
}

/** Of other programs, whose command lines are taken as they are. */
function ignored(): string[] {
  const rows = Object.entries(withoutEffect).map(([flag, reason]) => `| \`--${flag}\` | ${reason} |`);
  return [
    'It also takes these flags of CrownLabs, which have no effect here; the log says so once.',
    ['| flag | why |', '| --- | --- |', ...rows].join('\n'),
  ];
}

function section(command: string, rows: readonly SettingRow[]): string[] {
  const table = rows.map(({ flag, env, form, fallback, isRequired, text: meaning }) => {
    const value = isRequired ? 'needed' : fallback === undefined ? 'none' : `\`${fallback === '' ? '""' : fallback}\``;
    return `| \`${flag}\` | \`${env}\` | ${form.replaceAll('|', ' or ')} | ${value} | ${meaning.replaceAll('|', '\\|')} |`;
  });
  return [
    `## \`${command}\``,
    ['| flag | environment | form | default | meaning |', '| --- | --- | --- | --- | --- |', ...table].join('\n'),
  ];
}
