/** The plugins of a configuration list as one call: ADD and CHECK forward, DEL backward, each told what the one before it made. */
import { type Attachment, type PluginCommand, PluginFailure } from './attachment.ts';
import { type ConfigList, hasCheck, parseConfig, pluginInput, refuseOthers, refuseUnused } from './config.ts';
import { environmentOf } from './environment.ts';
import { type PluginHost, runPlugin } from './plugin.ts';
import { parseResult } from './result.ts';

export interface Chain {
  /** Throws before a plugin is started, where one of them may not be. */
  check(attachment: Attachment): ConfigList;
  /** The result of the last plugin. */
  add(attachment: Attachment, netnsPath: string): Promise<unknown>;
  /** Whether all is as ADD left it. */
  verify(attachment: Attachment, netnsPath: string, result: unknown): Promise<void>;
  /** Also of what was made half, or is gone: then there is no result, or no namespace. */
  del(attachment: Attachment, netnsPath: string | undefined, result: unknown): Promise<void>;
}

/** CNI error code: the container is unknown, and nothing is left to clean up. */
const unknownContainer = 3;

export function pluginChain(host: PluginHost, allowed: ReadonlySet<string>): Chain {
  const limit = atMost(4);

  function check(attachment: Attachment): ConfigList {
    const list = parseConfig(attachment.config);
    refuseOthers(list, allowed);
    refuseUnused(list, attachment);
    return list;
  }

  /** One plugin after the other, and the whole chain as one: a chain that began is not kept waiting for others half-way. */
  async function forEach(
    list: ConfigList,
    command: PluginCommand,
    attachment: Attachment,
    netnsPath: string | undefined,
    prevResult: (last: unknown) => unknown,
  ): Promise<unknown> {
    const environment = environmentOf({ command, attachment, netnsPath, binPath: host.binPath });
    const plugins = command === 'DEL' ? list.plugins.toReversed() : list.plugins;
    return limit(async () => {
      let last: unknown;
      for (const plugin of plugins) {
        const input = pluginInput(list, plugin, attachment, prevResult(last));
        const answer = await answerOf(plugin.type, input, environment);
        if (command === 'ADD') last = parseResult(plugin.type, answer);
      }
      return last;
    });
  }

  async function answerOf(type: string, input: ReturnType<typeof pluginInput>, environment: Record<string, string>) {
    try {
      return await runPlugin({ type, input, environment }, host);
    } catch (error) {
      const isGone = error instanceof PluginFailure && error.code === unknownContainer;
      if (environment['CNI_COMMAND'] === 'DEL' && isGone) return '';
      throw error;
    }
  }

  return {
    check,
    add: (attachment, netnsPath) => forEach(check(attachment), 'ADD', attachment, netnsPath, (last) => last),
    async verify(attachment, netnsPath, result) {
      const list = parseConfig(attachment.config);
      if (!hasCheck(list) || list.disableCheck) return;
      await forEach(list, 'CHECK', attachment, netnsPath, () => result);
    },
    async del(attachment, netnsPath, result) {
      const list = parseConfig(attachment.config);
      await forEach(list, 'DEL', attachment, netnsPath, () => (hasCheck(list) ? result : undefined));
    },
  };
}

/** So many at a time: each plugin is a process in the agent's share of memory. */
function atMost(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => void waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
