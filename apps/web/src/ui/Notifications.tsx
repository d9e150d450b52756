// Who is told when something waits.
import { Empty } from "./bits";

export function Notifications({ admin }: { admin: boolean }) {
  return <Empty title="Not here yet"><p>{admin ? "See the documentation." : "Admins set this up."}</p></Empty>;
}
