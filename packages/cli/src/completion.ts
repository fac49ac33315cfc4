/**
 * Shell completion, made from the command tree itself so that it never lags behind. The script that a shell sources is a few lines: it
 * asks `podloom __complete WORDS…` for the candidates each time.
 */
import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The candidates for the last of `words` (which may be empty), given the words before it. */
export function completeWords(program: Command, words: readonly string[]): string[] {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  let command = program;
  for (const word of before) command = command.commands.find((sub) => sub.name() === word) ?? command;
  const subcommands = command.commands.map((sub) => sub.name()).filter((name) => !name.startsWith('_'));
  const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  const options = command.options.flatMap(({ long }) => (long ? [long] : []));
  const candidates = typed.startsWith('-') ? [...options, '--help'] : [...subcommands, ...choices];
  return [...new Set(candidates)].filter((candidate) => candidate.startsWith(typed)).toSorted();
}

/** What a shell sources, by shell. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: [
    '_podloom() {',
    '  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}")',
    '}',
    'complete -o default -F _podloom podloom ./podloom',
  ].join('\n'),
  zsh: [
    '#compdef podloom',
    '_podloom() {',
    '  local -a candidates',
    '  candidates=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}")}")',
    '  compadd -- $candidates',
    '}',
    'compdef _podloom podloom ./podloom',
  ].join('\n'),
  fish: 'complete -c podloom -f -a "(podloom __complete -- (commandline -opc)[2..] (commandline -ct))"',
};
