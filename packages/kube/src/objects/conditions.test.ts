import type { Condition } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { findCondition, isConditionTrue, setCondition, toMicroTime, toTime } from './conditions.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Attached', message: 'All links are there' } as const;
const at = Date.UTC(2026, 0, 1);
const later = at + 60_000;
const had: Condition[] = [{ ...ready, lastTransitionTime: '2025-12-31T00:00:00Z' }];

describe('setCondition', () => {
  it('adds a condition with the time at which it became so', () => {
    expect(setCondition(undefined, ready, at)).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  });

  it('gives back the very same list when nothing changed', () => {
    expect(setCondition(had, ready, later)).toBe(had);
  });

  it('keeps the time of the transition when only reason, message or generation change', () => {
    const [one] = setCondition(had, { ...ready, message: 'All 3 links are there', observedGeneration: 2 }, later);
    expect(one).toEqual({
      ...ready,
      message: 'All 3 links are there',
      observedGeneration: 2,
      lastTransitionTime: '2025-12-31T00:00:00Z',
    });
  });

  it('moves the time when the status changes, and leaves its neighbours alone', () => {
    const other: Condition = { ...ready, type: 'Other', lastTransitionTime: '2025-01-01T00:00:00Z' };
    const list = setCondition([other, ...had], { ...ready, status: 'False', reason: 'LinkLost' }, later);
    expect(list[0]).toBe(other);
    expect(list[1]).toMatchObject({ status: 'False', lastTransitionTime: '2026-01-01T00:01:00Z' });
    expect(list).toHaveLength(2);
  });
});

it('finds conditions by type', () => {
  expect(findCondition(had, 'Ready')).toBe(had[0]);
  expect(isConditionTrue(had, 'Ready')).toBe(true);
  expect(isConditionTrue(undefined, 'Ready')).toBe(false);
});

it('writes times as the API server reads them', () => {
  expect(toTime(at + 7)).toBe('2026-01-01T00:00:00Z');
  expect(toMicroTime(at + 7)).toBe('2026-01-01T00:00:00.007000Z');
});
