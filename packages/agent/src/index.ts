/** The door of the package. */
export { runAgent } from './agent.ts';
export { connectCri } from './cri/client.ts';
export type { CriClient, CriEvent } from './cri/client.ts';
export { podFinder } from './cri/finder.ts';
export { agentSettings } from './settings.ts';
export type { AgentSettings } from './settings.ts';
