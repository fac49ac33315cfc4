/** The door of the package. */
export { type OperatorOptions, runOperator } from './operator.ts';
export { type OperatorSettings, operatorSettings } from './settings.ts';
export { type WithdrawOptions, type WithdrawSettings, withdraw, withdrawSettings } from './withdraw.ts';
