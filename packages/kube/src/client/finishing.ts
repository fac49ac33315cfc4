/**
 * Keeps undici from resetting a request that has a body. It closes and destroys the stream, and if part of the body still waits to be sent,
 * node's HTTP/2 then writes empty frames for ever: the event loop stands still while memory fills. Two writes aborted
 * right after their connection opened are enough; so is one on a connection that is not being read.
 *
 * So a write that is aborted before its stream opens is never sent, and one that is aborted later is forgotten: the caller hears of the
 * abort at once, and the answer, which nobody could have relied on not being a success, is read and dropped.
 */
import type { Dispatcher } from 'undici';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

export function finishing(handler: Handler): Handler {
  let streaming = false;
  let forgotten = false;

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
      if (!streaming) return controller.abort(reason);
      if (forgotten) return;
      forgotten = true;
      controller.resume();
      handler.onResponseError?.(controller, reason);
    },
  });

  return {
    onRequestStart(controller, context) {
      // Again, where the server refused the stream: what was forgotten meanwhile need not be sent any more.
      if (forgotten) return controller.abort(new Error('aborted by the caller'));
      streaming = false;
      handler.onRequestStart?.(shielded(controller), context);
      streaming = true;
    },
    onResponseStart(controller, status, headers, message) {
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
