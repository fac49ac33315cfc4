/** The door of the package. */
export { runLabsOperator } from './labs-operator.ts';
export { withoutEffect } from './without-effect.ts';
export { type LabsOperatorSettings, labsOperatorSettings } from './settings.ts';
