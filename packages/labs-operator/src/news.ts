/** Which changes of an object are a reason to look at it. */
import type { KubeObject } from '@podloom/api';
import { isSameJson } from '@podloom/kube';

/** Not for our own statuses. */
export const hasNews = (old: KubeObject | undefined, now: KubeObject): boolean =>
  !old ||
  old.metadata.generation !== now.metadata.generation ||
  old.metadata.deletionTimestamp !== now.metadata.deletionTimestamp ||
  !isSameJson(old.metadata.labels, now.metadata.labels) ||
  !isSameJson(old.metadata.finalizers, now.metadata.finalizers);
