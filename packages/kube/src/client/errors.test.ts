import { Bug, Conflict, InvalidInput, Unavailable } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import * as errors from './errors.ts';
import { status } from './testing/server.ts';

const { connectionError, translateStatus } = errors;

describe('translateStatus', () => {
  it.each([
    [404, 'NotFound', Unavailable, errors.isNotFound],
    [409, 'AlreadyExists', Conflict, errors.isAlreadyExists],
    [409, 'Conflict', Unavailable, errors.isStale],
    [409, 'Conflict', Unavailable, errors.isConflict],
    [410, 'Gone', Unavailable, errors.isGone],
    [410, 'Expired', Unavailable, errors.isGone],
    [403, 'Forbidden', Unavailable, errors.isForbidden],
    [401, 'Unauthorized', Unavailable, errors.isUnauthorized],
    [422, 'Invalid', InvalidInput, errors.isInvalid],
    [429, 'TooManyRequests', Unavailable, errors.isTooManyRequests],
    [400, 'BadRequest', InvalidInput, errors.isApiError],
    [415, 'UnsupportedMediaType', Bug, errors.isApiError],
    [500, 'InternalError', Unavailable, errors.isApiError],
    [503, 'ServiceUnavailable', Unavailable, errors.isApiError],
  ])('makes of %i %s the class that says what to do, and a predicate knows it', (code, reason, type, predicate) => {
    const error = translateStatus(code, status(code, reason), 'GET /x');
    expect(error).toBeInstanceOf(type);
    expect(predicate(error)).toBe(true);
    expect(error.api).toMatchObject({ status: code, reason });
  });

  it('goes by the status code where the answer is no Status', () => {
    expect(errors.isNotFound(translateStatus(404, undefined, 'GET /x'))).toBe(true);
    expect(translateStatus(502, '<html>', 'GET /x').message).toBe('the server answered 502 ServerError (GET /x)');
  });

  it('names the manager that owns a field in a conflict of server-side apply', () => {
    const message = 'Apply failed with 1 conflict: conflict with "kubectl": .data.a';
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "kubectl"', field: '.data.a' }];
    const error = translateStatus(409, { ...status(409, 'Conflict', message), details: { causes } }, 'PATCH /x');
    expect(error).toBeInstanceOf(Conflict);
    expect(errors.isFieldConflict(error)).toBe(true);
    expect(error.message).toContain('conflict with "kubectl"');
    expect(error.api.causes).toEqual(causes);
  });

  it('does not repeat what the server echoes of a body that it could not decode', () => {
    const message =
      'Secret in version "v1" cannot be handled as a Secret: json: bad value, error found in #10 byte of ...|"hunter2"}|..., bigger context ...|x|...';
    const error = translateStatus(400, status(400, 'BadRequest', message), 'POST /x');
    expect(error.message).toContain('cannot be handled as a Secret: json: bad value');
    expect(error.message).not.toContain('hunter2');
  });
});

describe('connectionError', () => {
  it('says what was below, also where several addresses were tried', () => {
    const cause = new AggregateError([new Error('connect ECONNREFUSED 127.0.0.1:1')]);
    const error = connectionError('GET /x', cause);
    expect(error.message).toBe('the API server cannot be reached: connect ECONNREFUSED 127.0.0.1:1 (GET /x)');
    expect(errors.isUnreachable(error)).toBe(true);
    expect(error.cause).toBe(cause);
  });

  it.each([new Error('x'), undefined, 'NOT_FOUND', { code: 'API_NOT_FOUND' }])(
    'is not confused by a stranger (%s)',
    (stranger) => {
      expect(errors.isNotFound(stranger)).toBe(false);
    },
  );
});
