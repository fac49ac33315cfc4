/**
 * What can go wrong with images. The fields are those of all errors of the project (`code`, `retry`), without its package: this
 * one can be used by itself.
 */

/** An image, or a part of one, that is not as it must be: trying again is pointless. */
export class InvalidImage extends Error {
  readonly retry = 'whenChanged';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
