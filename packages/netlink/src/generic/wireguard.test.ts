import { describe, expect, it } from 'vitest';
import { formatEndpoint, parseEndpoint, parseKey } from './wireguard.ts';

describe('WireGuard settings', () => {
  it.each(['192.0.2.1:51820', '[2001:db8::1]:1'])('writes and reads the endpoint %s', (endpoint) => {
    expect(formatEndpoint(parseEndpoint(endpoint))).toBe(endpoint);
  });

  it.each(['192.0.2.1', '2001:db8::1:1', '192.0.2.1:70000', 'example.org:1'])('refuses the endpoint %s', (endpoint) => {
    expect(() => parseEndpoint(endpoint)).toThrow(RangeError);
  });

  it('does not repeat a key that it refuses', () => {
    const nearly = 'yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBm';
    expect(() => parseKey(nearly)).toThrow(/^A WireGuard key is 32 bytes in base64$/);
  });
});
