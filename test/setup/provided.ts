/** What the set-up of a tier gives to its tests. */
import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of an administrator's kubeconfig. */
    kubeconfig: string;
    /** Cluster tier. Name of the private cluster; empty where the cluster is the user's own. */
    clusterName: string;
    /** Cluster tier. An image with a shell, ip, ping, nc and tcpdump that is on every node of a private cluster. */
    toolsImage: string;
  }
}
