// What the token of this tab allows.
import { shared } from "./ui.js";
import { get } from "./api.js";

export const rights = shared({ write: false, bound: false, namespace: "", name: "", version: "" });

/** Ask the server; with a token that it does not know, this fails. */
export async function learnRights() {
  const told = await get("/v1/token", {});
  rights.set({ ...told, write: !told.read_only });
}
