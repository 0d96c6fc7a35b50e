"""The ways to be slow. Each has the name that the report should give, and what it needs of the run."""

# A step of 50 ms, 10 of them on a CPU: what a worker does where nothing is scarce.
STEPS = {"model.synthetic_params": 2_000_000, "model.synthetic_step_ms": 50, "model.synthetic_cpu_ms": 10,
         "round.local_steps": 24, "round.chunk_params": 262_144, "round.snapshot_every": 400, "round.patience": 0}


class Kind:
    """`name` is the injection's, `cause` the report's. `start` and `stop` are told when a round has ended."""

    settings = {}
    far = False            # the victim stands behind a line of its own
    victim_options = ()
    whole_run = False      # from the beginning to the end: it cannot be switched

    def __init__(self, place):
        self.place = place

    def start(self):
        pass

    def stop(self):
        pass


class Clean(Kind):
    name, cause = "nothing", None


class Quota(Kind):
    name, cause = "quota", "quota"

    def start(self):
        self.place.cgroup.set_quota(0.1)

    def stop(self):
        self.place.cgroup.set_quota(None)


class Neighbour(Kind):
    name, cause = "neighbour", "neighbours"

    def start(self):
        self.place.cgroup.set_shares(64)  # it wants a fifth of the core and is left a seventeenth
        self.place.burner.start()

    def stop(self):
        self.place.burner.stop()
        self.place.cgroup.set_shares(1024)


class OwnThreads(Kind):
    name, cause, whole_run = "own threads", "own_threads", True
    victim_options = ("--threads", "16")


class Disk(Kind):
    name, cause = "disk", "disk"
    settings = {"model.synthetic_read_mb": 1}  # 24 MiB a round

    def start(self):
        self.place.cgroup.set_read_rate(10 << 20, self.place.scratch)

    def stop(self):
        self.place.cgroup.set_read_rate(0, self.place.scratch)


class Memory(Kind):
    name, cause = "memory", "memory"
    settings = {"model.synthetic_map_mb": 48}

    def start(self):
        self.place.cgroup.set_memory(scarce=True)

    def stop(self):
        self.place.cgroup.set_memory(scarce=False)


class Bandwidth(Kind):
    name, cause, far = "bandwidth", "bandwidth", True

    def start(self):
        self.place.link.tell("rate 8")

    def stop(self):
        self.place.link.tell("rate 0")


class Latency(Kind):
    name, cause, far = "latency", "latency_or_loss", True

    def start(self):
        self.place.link.tell("delay 75")

    def stop(self):
        self.place.link.tell("delay 0")


class Loss(Kind):
    name, cause, far = "loss", "latency_or_loss", True
    settings = {"model.synthetic_params": 6_000_000}  # bytes enough that some are lost in each round

    def start(self):
        self.place.link.tell("delay 10")  # with none, what is lost is sent again in no time
        self.place.link.tell("loss 0.05")

    def stop(self):
        self.place.link.tell("loss 0")
        self.place.link.tell("delay 0")


INJECTED = [Quota, Neighbour, OwnThreads, Disk, Bandwidth, Latency, Loss, Memory]
