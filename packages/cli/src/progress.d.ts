/**
 * Progress of long work on stderr: one line that is rewritten on a terminal, plain lines elsewhere (and there only when something
 * new begins, or once in half a minute while one thing goes on), so that logs stay short.
 */
import type { UpProgress } from '@podloom/local';
export interface Progress {
    readonly tell: (event: UpProgress) => void;
    /** Ends the line that is being rewritten. */
    readonly end: () => void;
}
export declare function progressOn(stream: NodeJS.WriteStream, now?: () => number): Progress;
