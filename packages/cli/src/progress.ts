/**
 * Progress of long work on stderr: one line that is rewritten on a terminal, plain lines elsewhere (and there only when something
 * new begins, or once in half a minute while one thing goes on), so that logs stay short.
 */
import type { UpProgress } from '@podloom/local';

const plainEveryMs = 30_000;

export interface Progress {
  readonly tell: (event: UpProgress) => void;
  /** Ends the line that is being rewritten. */
  readonly end: () => void;
}

export function progressOn(stream: NodeJS.WriteStream, now: () => number = Date.now): Progress {
  let lastText = '';
  let lastAt = 0;
  return {
    tell: (event) => {
      const { text, detail } = describe(event);
      if (stream.isTTY) {
        stream.write(`\r\u001B[2K${text}${detail}${event.kind === 'build' && event.done ? '\n' : ''}`);
      } else if (text !== lastText || now() - lastAt >= plainEveryMs) {
        stream.write(`${text}${detail}\n`);
        lastAt = now();
      }
      lastText = text;
    },
    end: () => {
      if (stream.isTTY && lastText !== '') stream.write('\r\u001B[2K');
    },
  };
}

function describe(event: UpProgress): { text: string; detail: string } {
  if (event.kind === 'step') return { text: event.text, detail: '' };
  const what = `${event.module} ${event.version} (${event.index} of ${event.total})`;
  const seconds = Math.round(event.elapsedMs / 1000);
  return event.done
    ? { text: `Built ${what}`, detail: ` in ${seconds} s` }
    : { text: `Building ${what}, once`, detail: seconds > 0 ? `: ${seconds} s` : '' };
}
