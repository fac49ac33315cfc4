/** The door of the package. */
export type { Account, Identity } from './identity/identity.ts';
export { runImageList } from './image-list/part.ts';
export { imageListSettings } from './image-list/settings.ts';
export { runLabsOperator } from './labs-operator.ts';
export { withoutEffect } from './without-effect.ts';
export { type LabsOperatorSettings, labsOperatorSettings } from './settings.ts';
