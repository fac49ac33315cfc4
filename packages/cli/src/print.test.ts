import { describe, expect, it } from 'vitest';
import { formatAge, formatTable } from './print.ts';

describe('formatTable', () => {
  it('pads every column to its widest cell and nothing after the last', () => {
    const rows = [
      { name: 'etcd', pid: 7 },
      { name: 'kube-apiserver', pid: undefined },
    ];
    const columns = [
      { title: 'Name', of: (row: (typeof rows)[number]) => row.name },
      { title: 'Pid', of: (row: (typeof rows)[number]) => row.pid },
    ];
    expect(formatTable(rows, columns)).toBe('NAME            PID\netcd            7\nkube-apiserver');
  });
});

describe('formatAge', () => {
  it.each([
    [-5, '0s'],
    [119_000, '119s'],
    [150_000, '2m30s'],
    [660_000, '11m'],
    [2 * 3_600_000, '2h'],
    [72 * 3_600_000, '3d'],
  ])('writes %i ms as %s', (ms, text) => expect(formatAge(ms)).toBe(text));
});
