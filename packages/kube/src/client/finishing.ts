/**
 * Keeps undici from resetting a request at a moment when node's HTTP/2 cannot stand it. There are two:
 *
 * - While part of a body still waits to be sent, node then writes empty frames for ever: the event loop stands still while memory
 *   fills. Two writes aborted right after their connection opened are enough; so is one on a connection that is not being read.
 * - Before the answer begins, an answer that is already on its way meets no stream any more. Node takes it for a new one, which
 *   nobody knows and nobody listens to: if the connection then ends with an error, as it does when a client is closed, that is
 *   an uncaught one.
 *
 * So a request that is aborted before its stream opens is never sent, and one that is aborted later is forgotten: the caller hears of the
 * abort at once. When the answer begins, a request without a body is reset; the answer to a write, which nobody could have
 * relied on not being a success, is read and dropped.
 */
import type { Dispatcher } from './undici.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

export function finishing(handler: Handler, hasBody: boolean): Handler {
  let streaming = false;
  let forgotten = false;
  let answered = false;

  const shielded = (controller: Controller): Controller => ({
    get aborted() {
      return forgotten || controller.aborted;
    },
    get paused() {
      return controller.paused;
    },
    get reason() {
      return controller.reason;
    },
    get rawHeaders() {
      return controller.rawHeaders ?? null;
    },
    get rawTrailers() {
      return controller.rawTrailers ?? null;
    },
    pause: () => controller.pause(),
    resume: () => controller.resume(),
    abort(reason) {
      if (!streaming || (answered && !hasBody)) return controller.abort(reason);
      if (forgotten) return;
      forgotten = true;
      controller.resume();
      handler.onResponseError?.(controller, reason);
    },
  });

  return {
    onRequestStart(controller, context) {
      // Again, where the server refused the stream: what was forgotten meanwhile need not be sent any more.
      if (forgotten) return controller.abort(aborted());
      streaming = false;
      handler.onRequestStart?.(shielded(controller), context);
      streaming = true;
    },
    onResponseStart(controller, status, headers, message) {
      // One below 200 is only a word in between.
      answered = status >= 200;
      if (forgotten && answered && !hasBody) controller.abort(aborted());
      if (!forgotten) handler.onResponseStart?.(shielded(controller), status, headers, message);
    },
    onResponseData(controller, chunk) {
      if (!forgotten) handler.onResponseData?.(shielded(controller), chunk);
    },
    onResponseEnd(controller, trailers) {
      if (!forgotten) handler.onResponseEnd?.(shielded(controller), trailers);
    },
    onResponseError(controller, error) {
      if (!forgotten) handler.onResponseError?.(shielded(controller), error);
    },
  };
}

const aborted = () => new Error('aborted by the caller');
