#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "sqlite/database.hpp"
#include "sqlite/statement.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

class Sqlite : public testing::Test {
 protected:
  Sqlite() : folder_(testing::TempDir() + "attn_sqlite_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/x.db";
  }
  ~Sqlite() override { std::filesystem::remove_all(folder_); }

  std::string folder_, path_;
};

TEST_F(Sqlite, StoresAndReadsEveryType) {
  Database database(path_, OpenMode::create);
  database.exec("CREATE TABLE t (i, d, s, n, b); CREATE TABLE u (x)");
  Statement insert(database, "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)");
  insert.bind_all(std::int64_t{1} << 62, 0.1, std::string("a\0b", 3), nullptr, true).run();
  insert.bind_all(7, 2, "", std::optional<double>(), std::optional<std::string>("x")).run();
  EXPECT_EQ(database.changes(), 1);
  EXPECT_EQ(database.last_insert_rowid(), 2);

  Statement select(database, "SELECT i, d, s, n, b AS flag FROM t ORDER BY rowid -- the end\n;  ");
  EXPECT_EQ(select.columns(), 5);
  EXPECT_EQ(select.name(4), "flag");
  EXPECT_TRUE(select.read_only());
  EXPECT_FALSE(insert.read_only());
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.get<std::int64_t>(0), std::int64_t{1} << 62);
  EXPECT_EQ(select.get<double>(1), 0.1);
  EXPECT_EQ(select.get<std::string>(2), std::string("a\0b", 3));
  EXPECT_EQ(select.get<std::optional<double>>(3), std::nullopt);
  EXPECT_TRUE(select.get<bool>(4));
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.get<double>(1), 2.0) << "an integer is a number";
  EXPECT_EQ(select.get<std::string>(2), "");
  EXPECT_EQ(select.get<std::optional<std::string>>(4), "x");
  EXPECT_EQ(select.get<SqlValue>(0), SqlValue(std::int64_t{7}));
  EXPECT_EQ(select.get<SqlValue>(3), SqlValue(nullptr));
  EXPECT_FALSE(select.step());
}

TEST_F(Sqlite, StoresNumbersThatAreNotFiniteAsNull) {
  Database database(":memory:", OpenMode::create);
  Statement select(database, "SELECT ?1, ?2");
  select.bind_all(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.get<SqlValue>(0), SqlValue(nullptr));
  EXPECT_EQ(select.get<SqlValue>(1), SqlValue(nullptr));
}

TEST_F(Sqlite, RefusesWrongTypesAndPositions) {
  Database database(":memory:", OpenMode::create);
  Statement select(database, "SELECT NULL AS n, 'x' AS s, 1 AS i WHERE ?1");
  EXPECT_THAT(error_of([&] { select.get<std::int64_t>(0); }).what(), HasSubstr("no row"));
  EXPECT_THAT(error_of([&] { select.bind(2, 1); }).what(), HasSubstr("out of range"));
  ASSERT_TRUE(select.bind(1, 1).step());
  const Error error = error_of([&] { select.get<std::int64_t>(0); });
  EXPECT_THAT(error.what(), HasSubstr("column n is NULL, wanted is an integer"));
  EXPECT_EQ(error.fault(), Fault::internal);
  EXPECT_THAT(error_of([&] { select.get<double>(1); }).what(), HasSubstr("column s is text, wanted is a number"));
  EXPECT_THAT(error_of([&] { select.get<std::string>(2); }).what(), HasSubstr("column i is an integer, wanted is text"));
  EXPECT_THAT(error_of([&] { select.get<std::string>(3); }).what(), HasSubstr("no column 3"));
  EXPECT_FALSE(select.step());
  EXPECT_THAT(error_of([&] { select.get<std::string>(1); }).what(), HasSubstr("no row"));
}

TEST_F(Sqlite, RefusesNoStatementAndTwo) {
  Database database(":memory:", OpenMode::create);
  EXPECT_THAT(error_of([&] { Statement(database, "  -- nothing"); }).what(), HasSubstr("no SQL statement"));
  EXPECT_THAT(error_of([&] { Statement(database, "SELECT 1; SELECT 2"); }).what(), HasSubstr("more than one SQL statement"));
  const Error error = error_of([&] { Statement(database, "SELEC 1"); });
  EXPECT_THAT(error.what(), HasSubstr(":memory:: near \"SELEC\": syntax error"));
  EXPECT_THAT(error.what(), HasSubstr("in: SELEC 1"));
  EXPECT_EQ(error.fault(), Fault::internal);
}

TEST_F(Sqlite, SaysWhatIsWrongWithAFile) {
  const Error absent = error_of([&] { Database(path_, OpenMode::read_only); });
  EXPECT_THAT(absent.what(), HasSubstr(path_ + ": unable to open database file"));
  EXPECT_EQ(absent.fault(), Fault::input);
  EXPECT_EQ(error_of([&] { Database(folder_ + "/absent/x.db", OpenMode::create); }).fault(), Fault::input);

  std::ofstream(path_) << std::string(4096, 'x');
  const Error other = error_of([&] { Database(path_, OpenMode::read_write); });
  EXPECT_EQ(other.what(), path_ + ": file is not a database");
  EXPECT_EQ(other.fault(), Fault::input);
}

TEST_F(Sqlite, NeverReadsAPathAsUri) {
  Database database(folder_ + "/file:x.db?mode=memory", OpenMode::create);
  database.exec("CREATE TABLE t (x)");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/file:x.db?mode=memory"));
}

TEST_F(Sqlite, ReadOnlyCannotWrite) {
  { Database(path_, OpenMode::create).exec("CREATE TABLE t (x)"); }
  Database database(path_, OpenMode::read_only);
  EXPECT_THAT(error_of([&] { database.exec("INSERT INTO t VALUES (1)"); }).what(), HasSubstr("readonly"));
}

TEST_F(Sqlite, KeepsItsTwoHeaderNumbers) {
  {
    Database database(path_, OpenMode::create);
    EXPECT_EQ(database.user_version(), 0);
    database.set_user_version(3);
    database.set_application_id(0x4154544e);
  }
  Database database(path_, OpenMode::read_only);
  EXPECT_EQ(database.user_version(), 3);
  EXPECT_EQ(database.application_id(), 0x4154544e);
}

std::int64_t rows(Database& database) {
  Statement count(database, "SELECT count(*) FROM t");
  count.step();
  return count.get<std::int64_t>(0);
}

TEST_F(Sqlite, TransactionsCommitOrVanish) {
  Database database(path_, OpenMode::create);
  database.exec("CREATE TABLE t (x UNIQUE)");
  {
    Transaction transaction(database);
    database.exec("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(rows(database), 0);
  {
    Transaction transaction(database);
    database.exec("INSERT INTO t VALUES (1)");
    transaction.commit();
  }
  EXPECT_EQ(rows(database), 1);
  EXPECT_THROW(
      {
        Transaction transaction(database);
        database.exec("INSERT INTO t VALUES (2)");
        database.exec("INSERT OR ROLLBACK INTO t VALUES (1)");  // rolls back by itself
      },
      Error);
  EXPECT_EQ(rows(database), 1);
}

TEST_F(Sqlite, WaitsForALockThenSaysSo) {
  Database first(path_, OpenMode::create);
  first.exec("CREATE TABLE t (x)");
  Transaction transaction(first);
  Database second(path_, OpenMode::read_write, std::chrono::milliseconds(50));
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] { Transaction other(second); });
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(40));
  EXPECT_THAT(error.what(), HasSubstr(path_ + ": database is locked"));
  EXPECT_EQ(error.fault(), Fault::input);
}

}  // namespace
}  // namespace attn
