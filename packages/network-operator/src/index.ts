/** The door of the package. */
export { runNetworkOperator } from './operator.ts';
export { type NetworkOperatorSettings, networkOperatorSettings } from './settings.ts';
export { type WithdrawOptions, type WithdrawSettings, withdraw, withdrawSettings } from './withdraw.ts';
