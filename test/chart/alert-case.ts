/** Series and, in promtool's notation, their values, one for each minute. */
export type Series = readonly (readonly [name: string, values: string])[];

export interface AlertCase {
  /** When the alert is evaluated. */
  readonly at: string;
  readonly fires: Series;
  /** As near to firing as makes a difference, without firing. */
  readonly quiet: Series;
  /** How many alerts fire. @default 1 */
  readonly count?: number;
  /** Labels, beside cluster and namespace, that the person on call needs. */
  readonly labels?: readonly string[];
}
