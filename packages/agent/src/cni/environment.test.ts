import { describe, expect, it } from 'vitest';
import { attachment } from '../testing/attachment.ts';
import { argumentsOf, environmentOf } from './environment.ts';

const network = { apiVersion: 'kaloom.com/v1', kind: 'Network', name: 'green' };

describe('argumentsOf', () => {
  it('has exactly the five keys of the standard for a NetworkAttachmentDefinition', () => {
    expect(argumentsOf(attachment())).toBe(
      'IgnoreUnknown=true;K8S_POD_NAMESPACE=here;K8S_POD_NAME=pod;K8S_POD_INFRA_CONTAINER_ID=b0c;K8S_POD_UID=pod-uid',
    );
  });

  it('has the keys that kactus reads for a Network', () => {
    const standard = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=here;K8S_POD_NAME=pod;K8S_POD_INFRA_CONTAINER_ID=b0c';
    const mac = '02:00:00:00:00:01';
    const asked = { source: network, capabilities: { mac } };
    expect(argumentsOf(attachment(asked))).toBe(`${standard};K8S_POD_NETWORK=green;K8S_POD_IFMAC=${mac}`);
    expect(argumentsOf(attachment({ source: network }))).toBe(`${standard};K8S_POD_NETWORK=green;K8S_POD_IFMAC=`);
    const args = [
      { name: 'K8S_POD_NETWORK', value: 'green' },
      { name: 'K8S_POD_IFMAC', value: mac },
    ];
    expect(argumentsOf(attachment({ source: network, args }))).toBe(argumentsOf(attachment(asked)));
  });

  it('adds what the element adds', () => {
    expect(argumentsOf(attachment({ args: [{ name: 'COLOUR', value: 'red' }] }))).toMatch(/;COLOUR=red$/);
  });

  it.each([
    ['K8S_POD_NAMESPACE', 'kube-system'],
    ['A', 'b;K8S_POD_NAME=other'],
    ['A=B', 'c'],
    ['', 'c'],
    ['A', '\0'],
  ])('refuses %j with %j: it would name another pod, or none', (name, value) => {
    expect(() => argumentsOf(attachment({ args: [{ name, value }] }))).toThrow(
      expect.objectContaining({ reason: 'InvalidArgument', isRetryable: false }),
    );
  });
});

describe('environmentOf', () => {
  const call = {
    command: 'ADD',
    attachment: attachment(),
    netnsPath: '/proc/7/ns/net',
    binPath: '/opt/cni/bin',
  } as const;

  it('is nothing but what the specification names, and a path', () => {
    expect(environmentOf(call)).toEqual({
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: 'b0c',
      CNI_NETNS: '/proc/7/ns/net',
      CNI_IFNAME: 'net1',
      CNI_ARGS: argumentsOf(attachment()),
      CNI_PATH: '/opt/cni/bin',
      PATH: expect.stringContaining('/usr/sbin') as string,
    });
  });

  it('does without a namespace that is gone', () => {
    expect(environmentOf({ ...call, command: 'DEL', netnsPath: undefined })).not.toHaveProperty('CNI_NETNS');
  });

  it('refuses a sandbox that is a path', () => {
    const refusal = expect.objectContaining({ reason: 'InvalidSandbox' }) as Error;
    expect(() => environmentOf({ ...call, attachment: attachment({ sandboxId: '../x' }) })).toThrow(refusal);
  });
});
