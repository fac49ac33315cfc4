/** An object as labs-operator applies it: plain data, only the fields that are ours. */
export interface LabObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly labels?: Labels | undefined;
    readonly annotations?: Labels | undefined;
  };
  readonly [field: string]: unknown;
}

export type Labels = Readonly<Record<string, string>>;

export interface ObjectPlace {
  readonly annotations?: Labels | undefined;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly labels: Labels;
}

export const object = (apiVersion: string, kind: string, metadata: ObjectPlace, rest: object = {}): LabObject => ({
  apiVersion,
  kind,
  metadata,
  ...rest,
});
