/** Why an interface cannot be had. It concerns that interface only; nothing of it is planned. */
export interface Problem {
  readonly reason:
    | 'NameTaken'
    | 'BridgeTaken'
    | 'BridgeMissing'
    | 'MacTaken'
    | 'RouteTaken'
    | 'UnsupportedLinkType'
    | 'UnsupportedHome'
    | 'PodNotRunning';
  readonly message: string;
}
