/** What a plugin answers: the result of ADD, or an error object. Both come from a program of somebody else. Pure. */
import { isCidr } from '@podloom/api';
import { PluginFailure } from './attachment.ts';
import { type JsonObject, isObject } from './config.ts';

export interface Seen {
  readonly macAddress?: string | undefined;
  readonly mtuBytes?: number | undefined;
  readonly addresses: readonly string[];
}

export function parseResult(plugin: string, text: string): JsonObject {
  const value = parse(text);
  if (isObject(value)) return value;
  const message = `The CNI plugin ${plugin} said that it succeeded, but its answer is no result: ${excerpt(text)}`;
  throw new PluginFailure('InvalidResult', message);
}

/**
 * Another try helps where the plugin asks for one, or where it is not known that it does not. Codes of the specification: 1 and 2
 * configuration, 3 container unknown, 4 environment, 5 input and output, 6 decoding, 7 configuration, 11 and 50 later.
 */
export function failureOf(plugin: string, exit: string, text: string, stderr: string): PluginFailure {
  const value = parse(text);
  const said = isObject(value) ? value : {};
  const code = typeof said['code'] === 'number' ? said['code'] : undefined;
  const words = [said['msg'], said['details']].filter((one) => typeof one === 'string' && one !== '');
  const what = words.length > 0 ? words.join(': ') : excerpt(text || stderr) || 'it said nothing';
  const number = code === undefined ? exit : `code ${code}`;
  return new PluginFailure(
    code === 11 || code === 50 ? 'TryAgainLater' : 'PluginFailed',
    `The CNI plugin ${plugin} failed (${number}): ${what}`,
    { code, isRetryable: code === undefined || ![1, 2, 4, 6, 7].includes(code) },
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Control characters would be taken for commands by a terminal. */
const excerpt = (text: string): string =>
  text
    .slice(0, 256)
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim();

const mostAddresses = 32;

/** The pod's end as the plugin made it: the first interface with a sandbox, and the addresses that name it or none. */
export function seenIn(result: unknown): Seen {
  const { interfaces, ips } = isObject(result) ? result : {};
  const all = Array.isArray(interfaces) ? (interfaces as unknown[]) : [];
  const index = all.findIndex((one) => isObject(one) && typeof one['sandbox'] === 'string' && one['sandbox'] !== '');
  const link = all[index];
  const { mac, mtu } = isObject(link) ? link : {};
  const addresses = (Array.isArray(ips) ? (ips as unknown[]) : []).flatMap((one) => {
    if (!isObject(one) || typeof one['address'] !== 'string') return [];
    const isOfIt = one['interface'] === undefined || one['interface'] === index;
    return isOfIt && isCidr(one['address']) ? [one['address']] : [];
  });
  return {
    ...(typeof mac === 'string' && /^[0-9a-fA-F:]{17}$/.test(mac) ? { macAddress: mac.toLowerCase() } : {}),
    ...(typeof mtu === 'number' && Number.isInteger(mtu) && mtu > 0 ? { mtuBytes: mtu } : {}),
    addresses: addresses.slice(0, mostAddresses),
  };
}
