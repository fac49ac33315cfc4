import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@podloom/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describePreviews, planFile } from './previews.ts';

const preview = { pod: 'web', node: 'n1', steps: [], conflicts: [], problems: [] };

describe('describePreviews', () => {
  it('does not say that all is as declared where something is wrong', () => {
    const text = describePreviews([{ ...preview, problems: ['pc0: No address of 10.0.0.0/30 is free'] }]);
    expect(text).toBe('pod web on node n1\n! pc0: No address of 10.0.0.0/30 is free\n');
  });

  it('says so where nothing is', () => {
    expect(describePreviews([preview])).toContain('Nothing to do: all is as declared.');
  });

  it('tells what a node does by itself from what is done for a pod', () => {
    const step = { do: 'deleteLink', in: 'node', owner: 'nobody', link: 'pcbr0' } as const;
    expect(describePreviews([{ ...preview, pod: undefined, steps: [step] }])).toBe(
      'node n1, once its pods are as above\n@@ node n1 @@\n- ip link del pcbr0\n',
    );
  });
});

describe('planFile', () => {
  it('refuses a field that the kind does not have, and names it, before it asks anybody', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'podloom-plan-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'podconfig.yaml');
    writeFileSync(
      file,
      `apiVersion: podconfig.opdev.io/v1alpha1
kind: PodConfig
metadata: { name: sample, labels: { any: thing } }
spec: { networkAttachments: [{ name: pc0, master: pcbr0, cdir: 10.0.0.0/24 }] }
`,
    );
    await expect(planFile({} as Client, 'default', file, () => undefined)).rejects.toThrow(
      'PodConfig sample is not valid: unknown field spec.networkAttachments[0].cdir',
    );
  });
});
