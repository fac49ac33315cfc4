import { describe, expect, it } from 'vitest';
import { createHmac } from 'node:crypto';
import { isSigned } from './events-part.ts';
import { newsOf } from './keycloak-event.ts';

const now = Date.parse('2026-05-01T12:00:00Z');
const read = (event: object) => newsOf(JSON.stringify(event), now);
const john = { change: { what: 'account', name: 'john.doe' } };

describe('events of Keycloak', () => {
  it.each([
    [{ type: 'access.CUSTOM_REQUIRED_ACTION', authDetails: { username: 'john.doe' } }, john],
    [{ type: 'admin.USER-UPDATE', representation: '{"username":"john.doe"}' }, john],
    [{ type: 'admin.CLIENT_ROLE_MAPPING-DELETE', details: { username: 'john.doe' } }, john],
    [
      { type: 'access.LOGIN', time: now - 5_000, authDetails: { username: 'john.doe' } },
      { ...john, login: { tenant: 'john.doe', timeMs: now - 5_000 } },
    ],
    [
      { type: 'access.LOGIN', time: now + 86_400_000, authDetails: { username: 'john.doe' } },
      { ...john, login: { tenant: 'john.doe', timeMs: now } },
    ],
    [
      { type: 'admin.CLIENT_ROLE-DELETE', resourcePath: 'clients/1/roles/workspace-tea%3Auser' },
      { change: { what: 'roles missing', name: 'tea' } },
    ],
    [{ type: 'admin.CLIENT_ROLE-DELETE', resourcePath: 'clients/1/roles/view' }, {}],
    [{ type: 'access.LOGIN', authDetails: { username: 'Mary@example.com' } }, {}],
    [{ type: 'access.LOGIN', authDetails: { username: '../nodes/n1' } }, {}],
    [{ type: 'admin.REALM-UPDATE' }, {}],
  ])('%j', (event, news) => {
    expect(read(event)).toEqual(news);
  });

  it.each([
    '{',
    '[]',
    'null',
    '{}',
    '{"type":7}',
    '{"type":"access.LOGIN"}',
    '{"type":"admin.USER-UPDATE","representation":"x"}',
  ])('that are none are refused: %s', (text) => {
    expect(() => newsOf(text, now)).toThrow(/^The event/);
  });

  it('are believed when the secret has signed them, or came with them', () => {
    const body = Buffer.from('{"type":"access.LOGIN"}');
    const signature = createHmac('sha256', 'shared').update(body).digest('hex');
    const signed = (headers: Record<string, string>) => isSigned(body, { headers }, 'shared');
    expect(signed({ 'x-keycloak-signature': signature })).toBe(true);
    expect(signed({ 'x-keycloak-signature': `sha256=${signature.toUpperCase()}` })).toBe(true);
    expect(signed({ authorization: 'Bearer shared' })).toBe(true);
    expect(signed({ 'x-keycloak-signature': `${signature}0` })).toBe(false);
    expect(signed({ 'x-keycloak-signature': 'shared', authorization: 'Bearer shared' })).toBe(false);
    expect(signed({ authorization: 'Bearer shared2' })).toBe(false);
    expect(signed({})).toBe(false);
    expect(isSigned(Buffer.from('{}'), { headers: { 'x-keycloak-signature': signature } }, 'shared')).toBe(false);
  });
});
