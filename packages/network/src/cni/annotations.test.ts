import { createHash } from 'node:crypto';
import { InvalidInput } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kaloomDevice, readKaloomAnnotation } from './kaloom-annotation.ts';
import { md5 } from './md5.ts';
import { readNadAnnotation } from './nad-annotation.ts';
import { chooseInterfaces } from './names.ts';

function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

const names = (text: string, recorded: Record<string, string> = {}) =>
  chooseInterfaces(
    readNadAnnotation(text, 'x'),
    ({ namespace, name, interface: link }, nth) => `${namespace}/${name}/${link ?? nth}`,
    new Map(Object.entries(recorded)),
  ).map(({ selection: { namespace, name }, name: link }) => `${namespace}/${name}@${link}`);

describe('the annotation of the standard', () => {
  it.each([
    ['text', 'a,b,other/c', ['x/a@net1', 'x/b@net2', 'other/c@net3']],
    ['blanks, and a name that still takes its number', ' a@lan0 , b ', ['x/a@lan0', 'x/b@net2']],
    ['an empty namespace', '/a', ['x/a@net1']],
    ['nothing', '', []],
    ['blanks only', '  ', []],
    ['an empty list', '[]', []],
    ['one network twice', '[{"name":"a"},{"name":"a"}]', ['x/a@net1', 'x/a@net2']],
    ['keys that nobody knows', '[{"name":"a","org.example.x":1,"later":{}}]', ['x/a@net1']],
    [
      'everything',
      '[{"name":"a","namespace":"y","interface":"lan0","ips":["10.0.0.7/24","fd00::1"],"mac":"02:00:00:00:00:0A","cni-args":{"k":[1]}}]',
      ['y/a@lan0'],
    ],
    ['the old key of the interface', '[{"name":"a","interfaceRequest":"lan0"}]', ['x/a@lan0']],
    ['a name that a later one asks for', '[{"name":"a"},{"name":"b","interface":"net1"}]', ['x/a@net3', 'x/b@net1']],
  ])('reads %s', (_, text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  it.each([
    ['two slashes', 'a/b/c'],
    ['two names of interfaces', 'a@b@c'],
    ['a capital', 'A'],
    ['a leading minus', '-a'],
    ['an empty element', 'a,,b'],
    ['an interface of 16 characters', 'a@abcdefghijklmnop'],
    ['an interface with a slash', '[{"name":"a","interface":"../x"}]'],
    ['half of a JSON', '[{"name":"a"}'],
    ['an object and no list', '{"name":"a"}'],
    ['a text in the list', '["a"]'],
    ['no name', '[{}]'],
    ['a path for a name', '[{"name":"../../etc"}]'],
    ['a shell for a name', '[{"name":"$(reboot)"}]'],
    ['a path for a namespace', '[{"name":"a","namespace":"../b"}]'],
    ['no address', '[{"name":"a","ips":[]}]'],
    ['an address that is none', '[{"name":"a","ips":["10.0.0.300"]}]'],
    ['a MAC of 8 bytes', '[{"name":"a","mac":"02:00:00:00:00:00:00:01"}]'],
    ['arguments that are a list', '[{"name":"a","cni-args":[]}]'],
    ['17 elements', JSON.stringify(Array.from({ length: 17 }, (__, i) => ({ name: `n${i}` })))],
    ['17 elements of text', Array.from({ length: 17 }, (__, i) => `n${i}`).join()],
    ['brackets without end', '['.repeat(60_000)],
    ['a quarter of a megabyte', `[{"name":"${'a'.repeat(250_000)}"}]`],
  ])('refuses %s as a whole', (_, text) => {
    const before = performance.now();
    expect(() => readNadAnnotation(text, 'x')).toThrow(InvalidInput);
    expect(performance.now() - before).toBeLessThan(200);
  });

  it('names what is not offered in the element, and not more of it', () => {
    const all = '[{"name":"a","portMappings":[],"default-route":[],"deviceID":"x"},{"name":"b"}]';
    expect(readNadAnnotation(all, 'x').map(({ unsupported }) => unsupported)).toEqual([
      ['portMappings', 'default-route', 'deviceID'],
      [],
    ]);
  });

  it('leaves a living interface its name, whatever the list becomes', () => {
    expect(names('b', { 'x/b/1': 'net2' })).toEqual(['x/b@net2']);
    expect(names('c,b', { 'x/b/1': 'net2' })).toEqual(['x/c@net1', 'x/b@net2']);
    expect(names('b,c', { 'x/b/1': 'net2' })).toEqual(['x/b@net2', 'x/c@net3']);
  });

  it('gives no name twice, and throws nothing but what is wrong with the text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'a@net1', 'a@net2', 'b@net3'), { maxLength: 16 }), (list) => {
        const unnamed = names(list.join()).filter((_, i) => !list[i]?.includes('@'));
        const links = unnamed.map((one) => one.split('@')[1]);
        expect(new Set(links).size).toBe(links.length);
        expect(list.filter((one) => links.includes(one.split('@')[1] ?? ''))).toEqual([]);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[]{}",:@/aA0 \\'.split('')) }), (text) => {
        expect(thrownBy(() => readNadAnnotation(text, 'x'))).toSatisfy(
          (error) => error === undefined || error instanceof InvalidInput,
        );
      }),
    );
  });
});

describe('the annotation of the podagent', () => {
  it.each([
    ['green', 'net9f27410725ab'],
    ['red', 'netbda9643ac660'],
    ['data', 'net8d777f385d3d'],
    ['blue', 'net48d6215903df'],
  ])('calls the device of %s %s', (network, device) => {
    expect(kaloomDevice(network)).toBe(device);
  });

  it('reads a list, each network once, without those that are left alone', () => {
    const text =
      '[{"name":"green"},{"name":"red","ifMac":"02:00:00:00:00:0A"},{"name":"green"},{"name":"p","isPrimary":true},{"name":"s","podagentSkip":true}]';
    expect(readKaloomAnnotation(text, 'x').map(({ name, mac }) => [name, mac])).toEqual([
      ['green', undefined],
      ['red', '02:00:00:00:00:0a'],
    ]);
    expect(readKaloomAnnotation('', 'x')).toEqual([]);
  });

  it.each([
    ['green'],
    ['{"name":"green"}'],
    ['[{"name":"../x"}]'],
    ['[{"name":"a","ifMac":"x;K8S_POD_NAME=b"}]'],
    ['[{"name":"a","isPrimary":"yes"}]'],
  ])('refuses %s as a whole', (text) => {
    expect(() => readKaloomAnnotation(text, 'x')).toThrow(InvalidInput);
  });

  it('hashes as others do', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        expect(md5(text)).toBe(createHash('md5').update(text).digest('hex'));
      }),
    );
  });
});
