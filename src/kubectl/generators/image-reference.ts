// What can be the name of an image (upstream: distribution/reference). Asking a cluster to run anything else could only fail later.

const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const component = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
const reference = new RegExp(
  `^(?:${domain}/)?${component}(?:/${component})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);
/** Longer ones are refused before they are matched. */
const longest = 4096;

export const isImageReference = (image: string): boolean => image.length <= longest && reference.test(image);

/** The last part of an image's name, without tag and digest. */
export const imageBaseName = (image: string): string =>
  (image.split("/").at(-1) as string).split("@")[0]?.split(":")[0] ?? "";
