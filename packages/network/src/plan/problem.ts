/** Why an interface cannot be had, or not yet. It concerns that interface only. */
export interface Problem {
  readonly reason:
    | 'NameTaken'
    | 'BridgeTaken'
    | 'BridgeMissing'
    | 'AddressTaken'
    | 'MacTaken'
    | 'RouteTaken'
    | 'UnsupportedLinkType'
    | 'UnsupportedHome'
    | 'PodNotRunning';
  readonly message: string;
}

/** The same where another link of the pod has what is asked for, and is not to have it any more. */
export const untilGivenUp = ({ reason, message }: Problem): Problem => ({
  reason,
  message: `Another link of the pod is to give it up first. ${message}`,
});
