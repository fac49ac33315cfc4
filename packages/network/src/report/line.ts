/** One link in podconfig-operator's format, as configList shows it. */
import type { PodInterfaceStatus } from '@podloom/api';

/** Several addresses are separated by commas; what is not known yet is left empty, as upstream prints it. */
export const configLine = ({ name, addresses, hostName, bridgeDevice }: PodInterfaceStatus): string =>
  `{podVethName:${name ?? ''} podIPAddr:${(addresses ?? []).join(',')} peerVethName:${hostName ?? ''} bridge:${bridgeDevice ?? ''}}`;

/** The change of the primary link as a line of the same kind. */
export const primaryLine = (interfaceName: string, mtuBytes: number, before: number | undefined): string =>
  `{podVethName:${interfaceName} mtu:${mtuBytes}${before === undefined ? '' : ` before:${before}`}}`;
