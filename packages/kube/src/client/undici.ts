/**
 * Of undici what sends requests, part by part. Its door also brings fetch, WebSockets, caches and mocks, of which nothing is used here, and every agent on every node would
 * hold them in memory. Its door also gives agents their method `request`; without it, that is a function of its own.
 */
import type { Agent, Client, Dispatcher } from 'undici';
import begin from 'undici/lib/api/api-request.js';

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export type { Client, Dispatcher };

/** Resolves when the answer has begun. */
export const request = (agent: Agent, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> =>
  begin.call(agent, options);
