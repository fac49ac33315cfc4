/** The door of the package. */
export { runAgent } from './agent.ts';
export type { AgentDeps } from './agent.ts';
export { connectCri } from './cri/client.ts';
export type { CriClient, CriContainer, CriEvent, CriSandbox } from './cri/client.ts';
export { podFinder } from './cri/finder.ts';
export type { PodFinder, PodProcess } from './cri/finder.ts';
export { findCriSocket } from './cri/socket.ts';
export { nodeView } from './observe/node.ts';
export type { NodeView } from './observe/node.ts';
export { observePod } from './observe/pod.ts';
export { agentSettings } from './settings.ts';
export type { AgentSettings } from './settings.ts';
