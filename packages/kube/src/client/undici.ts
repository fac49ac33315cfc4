/**
 * Of undici what sends requests, part by part. Its door also brings fetch, WebSockets, caches and mocks, of which nothing is used here, and every agent on every node would
 * hold them in memory.
 */
import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { Dispatcher };

// As its door does.
Object.assign(Dispatcher.prototype, { request });
