const NAME = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}`;
const VALUE = `(?:${NAME} *)?`;
const SET = `\\( *${VALUE}(?:, *${VALUE}){0,31}\\) *`;
// Spaces before a comma can be read in one way only, each at the end of what stands before them. In two ways, a text that
// is no selector would take a time that doubles with each comma.
const REQUIREMENT = `(?:! *${KEY} *|${KEY}(?: *(?:=|==|!=) *${VALUE}| +(?:in|notin) *${SET}| *))`;
const SELECTOR = new RegExp(`^ *${REQUIREMENT}(?:, *${REQUIREMENT}){0,31}$`);

const MAX_LENGTH = 1_024;

/** Whether the API server takes it for a label selector: requirements of equality, sets and existence, with commas between. */
export function isLabelSelector(text: string): boolean {
  return text.length <= MAX_LENGTH && SELECTOR.test(text);
}
