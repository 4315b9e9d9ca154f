"""No-ops on dask with two worker processes. Reads counts, writes the seconds that each run took."""
import sys
import time

from distributed import Client, LocalCluster


def no_op(index):
    return None


def main():
    threads = int(sys.argv[1])
    cluster = LocalCluster(n_workers=2, threads_per_worker=threads, dashboard_address=None)
    client = Client(cluster)
    client.wait_for_workers(2)
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        start = time.perf_counter()
        client.gather(client.map(no_op, range(count), pure=False))
        print(time.perf_counter() - start, flush=True)
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()
