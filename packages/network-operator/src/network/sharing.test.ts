import { describe, expect, it } from 'vitest';
import { sharing } from './sharing.ts';

describe('sharing', () => {
  it('asks once for all who come while an answer is on its way, and never gives them that one', async () => {
    const asked: PromiseWithResolvers<string>[] = [];
    const share = sharing(() => {
      const one = Promise.withResolvers<string>();
      asked.push(one);
      return one.promise;
    });
    const [first, second] = [share('a'), share('a')];
    await Promise.resolve();
    expect(asked).toHaveLength(1);
    const [third, fourth] = [share('a'), share('a')];
    asked[0]!.resolve('old');
    expect(await Promise.all([first, second])).toEqual(['old', 'old']);
    await new Promise(setImmediate);
    expect(asked).toHaveLength(2);
    asked[1]!.resolve('new');
    expect(await Promise.all([third, fourth])).toEqual(['new', 'new']);
  });

  it('tells all who share it that it failed, and asks again for the next', async () => {
    let asked = 0;
    const share = sharing((what) => {
      asked += 1;
      return asked === 1 ? Promise.reject(new Error(what)) : Promise.resolve(what);
    });
    const settled = await Promise.allSettled([share('a'), share('a')]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await share('a')).toBe('a');
  });
});
