/** Links are typed by their kind. Checked by the compiler; running it only shows that it was compiled. */
import { describe, expectTypeOf, it } from 'vitest';
import type { Link, LinkAdd } from './link.ts';

type Of<K extends Link['kind']> = Extract<Link, { kind: K }>;
type AddOf<K extends LinkAdd['kind']> = Extract<LinkAdd, { kind: K }>;

describe('the type of a link', () => {
  it('has the settings of its kind, and not those of another', () => {
    expectTypeOf<Of<'vxlan'>['data']['id']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Of<'bond'>['data']['mode']>().extract<'active-backup'>().toEqualTypeOf<'active-backup'>();
    expectTypeOf<Of<'bridge'>['data']>().not.toHaveProperty('ifId');
    expectTypeOf<AddOf<'macvlan'>>().toHaveProperty('data');
    expectTypeOf<AddOf<'veth'>>().toHaveProperty('peer');
    expectTypeOf<NonNullable<AddOf<'veth'>['peer']>>().not.toHaveProperty('up');
    expectTypeOf<AddOf<'dummy'>['name']>().toEqualTypeOf<string>();
  });
});
