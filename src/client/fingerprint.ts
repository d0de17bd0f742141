const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
/** What a server puts behind `generateName`, or behind the name of the volume of a token: another one for each pod. */
const randomEnd = /-[bcdfghjklmnpqrstvwxz2456789]{5}$/;
/** The fields of metadata that writers choose; the server sets the others with each write. */
const meantMetadata: ReadonlySet<string> = new Set(["labels", "annotations", "finalizers", "ownerReferences"]);
const counted: ReadonlySet<string> = new Set(["observedGeneration", "resourceVersion"]);

/**
 * A number for what an object says: the same for two that say the same, whatever they are called, however often they were
 * written, and whatever the time was.
 */
export function fingerprint(object: unknown): number {
  let [a, b] = [0x811c9dc5, 0x1000193];
  const mix = (code: number) => {
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  };
  const text = (value: string) => {
    for (let i = 0; i < value.length; i++) mix(value.charCodeAt(i));
    mix(0xffff);
  };
  const visit = (value: unknown, isMetadata: boolean) => {
    if (typeof value === "string") text(time.test(value) ? "time" : value.replace(randomEnd, ""));
    else if (typeof value !== "object" || value === null) text(String(value));
    else if (Array.isArray(value)) {
      mix(value.length);
      for (const one of value) visit(one, false);
    } else
      for (const [name, one] of Object.entries(value)) {
        if (counted.has(name) || (isMetadata && !meantMetadata.has(name))) continue;
        text(name);
        visit(one, false);
      }
  };
  if (typeof object === "object" && object !== null)
    for (const [name, value] of Object.entries(object)) {
      text(name);
      visit(value, name === "metadata");
    }
  return (a >>> 0) * 2 ** 21 + (b >>> 11);
}
