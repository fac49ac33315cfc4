/** How people come in, by SSH so far. */
export { runBastion } from './bastion/bastion.ts';
export { ensureHostKeys } from './bastion/ensure-host-keys.ts';
export { bastionSettings, hostKeySettings } from './bastion/settings.ts';
export { trackerSettings } from './tracker/settings.ts';
export { runTracker } from './tracker/tracker.ts';
